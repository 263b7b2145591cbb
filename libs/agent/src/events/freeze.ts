/** Approximate memory of a string, and of an object or a list without its parts, in bytes, as measured. */
const textBytes = 24;
const shellBytes = 48;

/**
 * Freezes a value with everything in it, at any depth. Returns the approximate number of bytes of its memory.
 */
export function deepFreeze(value: unknown): number {
  let bytes = 0;
  const remaining: unknown[] = [value];
  while (remaining.length > 0) {
    const each = remaining.pop();
    if (typeof each === 'string') bytes += textBytes + each.length;
    else if (typeof each !== 'object' || each === null) bytes += 8;
    else {
      Object.freeze(each);
      bytes += shellBytes;
      for (const inner of Object.values(each)) remaining.push(inner);
    }
  }
  return bytes;
}
