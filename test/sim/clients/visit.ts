import { setTimeout as delay } from 'node:timers/promises';
import type { Step as ChaosStep, Visit as ChaosVisit } from '../../chaos/plan/steps.ts';
import { cancel, fork, remove, removeUser, rewind, upload } from './acts.ts';
import { answer, outcome } from './answers.ts';
import { type Clients, newVisitor, type Visitor } from './clients.ts';
import { say } from './say.ts';

/** The deletion of all data of the user. */
interface DeleteUser {
  do: 'deleteUser';
  atMs: number;
}

export type Step = ChaosStep | DeleteUser;

/** The work of one client, as in real chaos, with more kinds of steps. */
export interface Visit extends Omit<ChaosVisit, 'bursts'> {
  bursts: Step[][];
}

/** Makes a visit: one burst of steps after the other. */
export async function makeVisit(clients: Clients, { user, bursts }: Visit): Promise<void> {
  const visitor = newVisitor(clients, user);
  for (const burst of bursts) await Promise.all(burst.map((step) => takeStep(visitor, step)));
}

async function takeStep(visitor: Visitor, step: Step): Promise<void> {
  // The time of a cancellation counts from the moment for which it waits.
  if (step.atMs > 0 && !(step.do === 'cancel' && step.when !== 'accepted')) await delay(step.atMs);
  await steps[step.do](visitor, step as never);
}

const steps = {
  ...{ say, answer, cancel, fork, outcome, rewind, upload },
  ...{ delete: remove, deleteUser: removeUser },
} satisfies Record<Step['do'], (visitor: Visitor, step: never) => Promise<void>>;
