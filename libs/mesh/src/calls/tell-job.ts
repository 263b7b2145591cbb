import {
  type Headers,
  type Job,
  MeshError,
  type OperationUpdateInput,
  type ToolCall,
  type ToolResult,
} from '@agentmesh/protocol';
import type { FinishedJob } from '@agentmesh/store';
import type { Mesh } from '../mesh/mesh.ts';

/** The parts of a job that its updates need. */
export interface ToldJob {
  mesh: Mesh;
  tool: { name: string };
  order: Job;
  headers: Headers;
}

/**
 * Publishes progress. A failure to publish is no reason to start the work again: progress is news, and the
 * store keeps it for the processes that follow the job.
 */
export async function tellProgress(job: ToldJob, update: OperationUpdateInput): Promise<void> {
  try {
    await tell(job, update);
  } catch (error) {
    if (!MeshError.from(error).retryable) throw error;
    job.mesh.log.warn({ err: error, job: job.order.job }, 'could not publish the progress of a job');
  }
}

/**
 * Returns what the caller gets of a job that has ended, or goes on: the result, or an interim response where an update
 * tells the result, as the job's record decided at its end. A ticket that came in both ways would wake the agent
 * twice.
 *
 * @param lastProgress the progress that the caller has received last
 */
export function responseForCaller(
  end: Pick<FinishedJob, 'result' | 'heard'> | undefined,
  call: ToolCall,
  lastProgress?: unknown,
): ToolResult {
  if (end && isForCaller(end, call)) return end.result;
  return { response: lastProgress ?? { status: 'pending' }, isLastWord: false };
}

/**
 * Tells whether the caller gets the result itself. A final result may also come as an update, because a call has one
 * outcome.
 */
function isForCaller(
  { result, heard }: Pick<FinishedJob, 'result' | 'heard'>,
  { context }: ToolCall,
): boolean {
  if (heard || context?.operationSubject === undefined || result.response === undefined) return true;
  return isFinal(result) && !asksPerson(result);
}

function isFinal({ isLastWord, failed }: ToolResult): boolean {
  return isLastWord === true || failed !== undefined;
}

function asksPerson({ actions }: ToolResult): boolean {
  const { requestedToolConfirmations, requestedAuthConfigs, requestedInputs } = actions ?? {};
  const requests = [requestedToolConfirmations, requestedAuthConfigs, requestedInputs];
  return requests.some((each) => Object.keys(each ?? {}).length > 0);
}

/**
 * Publishes how the job ended, for the agent that made the call. If the agent followed the job, it may know
 * the end already.
 */
export async function tellEnd(
  job: ToldJob,
  { result, said, heard }: FinishedJob,
  wake = true,
): Promise<void> {
  const { response, actions } = result;
  const final = isFinal(result);
  // A ticket is only the first response, and no news to an agent that has received it.
  if (!final && (heard || response === undefined)) return;
  const update: OperationUpdateInput =
    asksPerson(result) && !heard
      ? {
          final: true,
          error: 'the tool asked a person only after its call had gone on without it; ask at once',
        }
      : { final, response, ...(!final && { wake: true }) };
  const delta = actions?.stateDelta ?? {};
  const last = { seq: said + 1, ...(!wake && { wake: false }) };
  try {
    await tell(job, { ...update, ...last, ...(Object.keys(delta).length > 0 && { stateDelta: delta }) });
  } catch (error) {
    const { retryable, message } = MeshError.from(error);
    if (retryable) throw error;
    // The result is too large for a message; the call must end all the same.
    const why = `the result of ${job.tool.name} cannot be sent: ${message}`;
    await tell(job, { final: true, error: why, ...last });
  }
}

/** Ends the call of a job that became a dead letter, unless the call has its outcome already. */
export async function tellDead(job: ToldJob, { code, message }: MeshError): Promise<void> {
  const error = `the work of ${job.tool.name} was given up (${code}): ${message}; an operator has it in the dead letters`;
  // Nobody knows the number of its last progress; the outcome of a call counts at any number.
  await tell(job, { final: true, error, seq: 1 }, 'dead');
}

/** Publishes an update under an id of its own, so that a repetition has no effect. */
async function tell(
  { mesh, tool, order, headers }: ToldJob,
  update: OperationUpdateInput,
  id: string | number | undefined = update.seq,
): Promise<void> {
  const { job, call } = order;
  const { operationSubject, app, user, session, invocationId } = call.context ?? {};
  if (operationSubject === undefined) return;
  const { answers } = call;
  await mesh.bus.enqueue(
    operationSubject,
    { ...update, by: tool.name, app, user, session, invocationId, ...(answers > 0 && { answers }) },
    { messageId: `${job}:${id}`, headers },
  );
}
