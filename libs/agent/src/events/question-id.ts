/**
 * Makes the id of the question that a call asks. The id follows from the call and the number of its questions
 * so far: when a call runs again after a crash, in any process, it asks the same question and not a second
 * question.
 *
 * @param round 1 for the first question of the call, increased by 1 with each answer
 */
export function questionIdOf(callId: string, kind: string, round: number): string {
  return `${callId}-${kind}-${round}`;
}

/** Tells whether it is the id of a question for a credential. */
export function isCredentialQuestion(id: string | undefined): boolean {
  return id !== undefined && /-credential-\d+$/.test(id);
}
