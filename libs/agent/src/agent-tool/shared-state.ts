import { isDeepStrictEqual } from 'node:util';
import type { Context } from '../base/context.ts';
import { pickScopes } from '../events/state.ts';
import type { AgentAnswer } from './agent-answer.ts';

/**
 * Returns the state that an asked agent begins with: the caller's session state, and the `temp:` state that the
 * calls of the caller's step have written. The agent's first event commits the latter.
 */
export function stateForAsk(context: Context): Record<string, unknown> {
  return {
    ...pickScopes(context.state.toRecord(), ['session']),
    ...pickScopes(uncommittedState(context), ['temp']),
  };
}

/** Returns the state that the calls of the step have written so far. */
function uncommittedState({ invocationContext, actions }: Context): Record<string, unknown> {
  const { openActions = [] } = invocationContext ?? {};
  return Object.assign({}, ...openActions.map(({ stateDelta }) => stateDelta), actions.stateDelta);
}

/**
 * Takes an agent's state changes and files over into the caller's next event. The changes of shared scopes and of
 * `temp:`, by the agent and by agents that it asked, are committed already and only become visible here: writing them
 * again could overwrite a newer value of another session. A key that a call of this step has written is written again,
 * because the step's event commits it after the agent's.
 */
export async function takeOver({ stateDelta, artifactDelta }: AgentAnswer, context: Context): Promise<void> {
  const { state, actions, invocationContext } = context;
  state.update(pickScopes(stateDelta, ['session']));
  Object.assign(actions.artifactDelta, artifactDelta);
  if (!invocationContext) return;
  const { session, sessionService, ref } = invocationContext;
  const [{ temp }, fresh] = await Promise.all([
    sessionService.invocations.get(ref),
    sessionService.getSession({ ...ref, config: { numRecentEvents: 0 } }),
  ]);
  const older = uncommittedState(context);
  for (const [key, value] of Object.entries(pickScopes(fresh?.state ?? {}, ['app', 'user'])))
    if (!Object.hasOwn(older, key)) session.state[key] = value;
  const committed = { ...pickScopes(stateDelta, ['app', 'user']), ...temp };
  Object.assign(session.state, committed);
  for (const [key, value] of Object.entries(committed))
    if (Object.hasOwn(older, key) && !isDeepStrictEqual(older[key], value)) state.set(key, value);
}
