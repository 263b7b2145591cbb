import { type Fault, type Life, now, type Span } from '../check/history.ts';

/** The record of all lives and faults of a field. */
export interface FieldLog {
  readonly lives: Life[];
  readonly faults: Fault[];
}

/** Notes that a stretch of a life begins now. Returns a function that notes its end. */
export function beginSpan(spans: Span[]): () => void {
  const span: Span = [now(), Number.POSITIVE_INFINITY];
  spans.push(span);
  return () => {
    span[1] = now();
  };
}
