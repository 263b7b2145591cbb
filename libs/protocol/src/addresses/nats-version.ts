/** The oldest nats-server that keeps the promises: before it, acknowledgements and numbers of messages were lost. */
export const oldestNats = '2.10';

/** Tells whether a version, such as `2.15.1`, is `least` or newer; false for a text that is no version. */
export function isAtLeast(version: string, least: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [leastMajor = 0, leastMinor = 0] = least.split('.').map(Number);
  return major > leastMajor || (major === leastMajor && minor >= leastMinor);
}
