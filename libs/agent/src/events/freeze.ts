/** What a text, and an object or a list beside its parts, takes in memory, in bytes; as measured, roughly. */
const textBytes = 24;
const shellBytes = 48;

/** Freezes a value and all in it, however deep. Returns about how many bytes of memory it takes. */
export function deepFreeze(value: unknown): number {
  let bytes = 0;
  const left: unknown[] = [value];
  while (left.length > 0) {
    const each = left.pop();
    if (typeof each === 'string') bytes += textBytes + each.length;
    else if (typeof each !== 'object' || each === null) bytes += 8;
    else {
      Object.freeze(each);
      bytes += shellBytes;
      for (const inner of Object.values(each)) left.push(inner);
    }
  }
  return bytes;
}
