/**
 * Id of the question that a call asks. It follows from the call and from how often the call has asked: made again after a crash, in whatever
 * process, it asks the same question and not a second one.
 *
 * @param round 1 for the first question of the call, one more with each answer
 */
export function questionIdOf(callId: string, kind: string, round: number): string {
  return `${callId}-${kind}-${round}`;
}

/** Is it the id of a question for a credential? */
export function isCredentialQuestion(id: string | undefined): boolean {
  return id !== undefined && /-credential-\d+$/.test(id);
}
