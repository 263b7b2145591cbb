/** Number of objects that are read or deleted at once. */
const atOnce = 16;

/** Does the work for all items, some at once. Returns the results in the order of the items. */
export async function inGroups<T, R>(items: readonly T[], work: (item: T) => Promise<R> | R): Promise<R[]> {
  const results: R[] = [];
  for (let at = 0; at < items.length; at += atOnce)
    results.push(...(await Promise.all(items.slice(at, at + atOnce).map(work))));
  return results;
}
