import { provideRequested, takeAnswers } from '../auth/credential-steps.ts';
import type { BaseTool } from '../base/base-tool.ts';
import type { Context } from '../base/context.ts';
import type { ToolOutcome } from './run-tool.ts';

type Progress = AsyncGenerator<Record<string, unknown>, ToolOutcome, void>;

/** The outcome of a tool, or its progress up to the outcome. */
export type ToolWork = ToolOutcome | Progress;

type Attempt = () => ToolWork | Promise<ToolWork>;

export function isProgress(work: ToolWork): work is Progress {
  return Symbol.asyncIterator in work;
}

/**
 * Runs a tool with the answers of people to its call. When the tool requests a credential that is available
 * without a person, the tool runs again with that credential. Each credential is given once, so the loop
 * ends.
 *
 * @param fail makes the outcome of a call whose credential is refused; by default it throws
 */
export async function* withCredentials(
  { isRemote }: Pick<BaseTool, 'isRemote'>,
  context: Context,
  attempt: Attempt,
  fail: (thrown: unknown) => Promise<ToolOutcome> = (thrown) => Promise.reject(thrown),
): AsyncGenerator<Record<string, unknown>, ToolOutcome, void> {
  try {
    await takeAnswers(context, isRemote);
  } catch (thrown) {
    return await fail(thrown);
  }
  for (;;) {
    const work = await attempt();
    const outcome = isProgress(work) ? yield* work : work;
    if (outcome.failed) return outcome;
    try {
      if (!(await provideRequested(context, isRemote))) return outcome;
    } catch (thrown) {
      return await fail(thrown);
    }
  }
}
