/** Returns the list under a key, and adds an empty one when there is none. */
export function listIn<V>(map: Map<string, V[]>, key: string): V[] {
  const existing = map.get(key);
  if (existing) return existing;
  const list: V[] = [];
  map.set(key, list);
  return list;
}

/** Returns the set under a key, and adds an empty one when there is none. */
export function setIn(map: Map<string, Set<string>>, key: string): Set<string> {
  const set = map.get(key) ?? new Set();
  map.set(key, set);
  return set;
}
