import { type AnsweredBy, type ConfirmableBy, MeshError, type ToolConfirmation } from '@agentmesh/protocol';
import { type Question, questionNames } from '../events/question.ts';

/** The name of a person whom the publisher of an answer does not name. */
export const unknownPerson = 'unknown';

/** The source of an answer in a run for which nobody vouches: a publisher on NATS may claim to be anybody. */
export const unknownSource: AnsweredBy = { by: unknownPerson, via: 'nats' };

/**
 * Tells whether an answer was accepted before its run began: it came as an update, whose publisher the source names,
 * or it says that nobody answered in time.
 */
export function wasAccepted({ via, service }: AnsweredBy): boolean {
  return via === 'job' || via === 'deadline' || (via === 'nats' && service !== undefined);
}

/** The source of an answer, and the user of the session in which the question was asked. */
export interface Answerer {
  answeredBy?: AnsweredBy | undefined;
  userId: string;
  /** The other users who sent the messages that led to the question, such as an operator for this user. */
  senders?: readonly string[] | undefined;
  /** True for an answer that was checked in the session of the calling agent, which asked the same question. */
  isChecked?: boolean | undefined;
}

/**
 * Checks that a person may answer a question. The question itself, which is in the log, says who may.
 *
 * @throws MeshError `permission_denied` that names who may
 */
export function assertMayAnswer(
  { id, name, args }: Pick<Question, 'id' | 'name' | 'args'>,
  { answeredBy, userId, senders = [], isChecked }: Answerer,
): void {
  const policy = policyOf({ name, args });
  if (!policy || isChecked) return;
  const { by = unknownPerson, roles = [] } = answeredBy ?? {};
  const hasRole = policy.roles?.some((role) => roles.includes(role)) ?? true;
  const isAsker = policy.notByAsker && [userId, unknownPerson, ...senders].includes(by);
  if (hasRole && !isAsker) return;
  const person = by === unknownPerson ? 'a person whom the answer does not name' : by;
  throw new MeshError(
    'permission_denied',
    `${name} ${id} may be answered by ${describe(policy, userId)}; ${person} has ${roles.length > 0 ? `the roles ${roles.join(', ')}` : 'no role'}. Nothing is changed: let such a person answer`,
  );
}

/** Returns who may answer a question; undefined for everybody. */
function policyOf({ name, args }: Pick<Question, 'name' | 'args'>): ConfirmableBy | undefined {
  if (name !== questionNames.confirmation) return undefined;
  return (args.toolConfirmation as Partial<ToolConfirmation> | undefined)?.confirmableBy;
}

function describe({ roles, notByAsker }: ConfirmableBy, userId: string): string {
  const who = roles
    ? `a person with ${roles.length > 1 ? 'one of the roles' : 'the role'} ${roles.join(', ')}`
    : 'any person';
  return notByAsker ? `${who} who is not ${userId}, the user of the session, and has not asked for it` : who;
}
