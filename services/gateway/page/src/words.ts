/** Writes a time span: `420 ms`, `3.2 s`, `4 min 10 s`, `2 h 5 min`, `3 d`. */
export function spanText(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  const seconds = ms / 1_000;
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.round(seconds % 60)} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} d`;
}

/** Writes a time of the last day as a clock time, an older one with its date. */
export function timeText(ms: number): string {
  const time = new Date(ms);
  const clock = time.toLocaleTimeString([], { hour12: false });
  return Date.now() - ms < 86_400_000 ? clock : `${time.toLocaleDateString()} ${clock}`;
}

/** Returns the part of the name of a replica that tells it from the others of its service. */
export function shortReplica(replica: string): string {
  return replica.split('-').slice(-2).join('-');
}

export function count(number: number, one: string, many = `${one}s`): string {
  return `${number.toLocaleString('en')} ${number === 1 ? one : many}`;
}

/** Writes a value as JSON, on one line or on several. */
export function json(value: unknown, indent = 0): string {
  return typeof value === 'string' ? value : (JSON.stringify(value, null, indent) ?? '');
}
