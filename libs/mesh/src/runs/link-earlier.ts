import type { Session } from '@agentmesh/agent';
import { logIndex } from '@agentmesh/agent/internal';
import type { Tally } from '../mesh/outcomes.ts';
import type { Run } from './run.ts';

/**
 * Links the span of a run to earlier work: that of the attempt before, and for an answer that of the question. The
 * events of the log name their spans.
 */
export function linkEarlier({ span, attempt = 1 }: Tally, run: Run, { events }: Session): void {
  if (!span) return;
  const log = logIndex(events);
  if (attempt > 1) span.linkTo(log.ofInvocation(run.invocationId));
  const answers = run.message?.parts ?? [];
  const call = log.lastCallOf(answers.map(({ functionResponse }) => functionResponse?.id));
  if (call) span.linkTo([call]);
}
