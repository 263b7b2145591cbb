/** Returns the first part of all Redis keys of a mesh, when no other was chosen. */
export function redisPrefixOf(namespace: string): string {
  return namespace === 'mesh' ? 'am' : `am-${namespace}`;
}
