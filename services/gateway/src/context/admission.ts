import type { InvocationRef } from '@agentmesh/agent/internal';

/** A run that may start. */
export interface AdmittedRun {
  /** Counts the tokens that the run has used so far. Never rejects: a later count makes up for a failed one. */
  count(): Promise<void>;
  /** Forgets the run: it was not started. Never rejects. */
  drop(): Promise<void>;
}

/** Decides which runs may start, by the runs and tokens of their caller, their user and their app. */
export interface RunAdmission extends AsyncDisposable {
  /**
   * Admits a run, and counts it.
   *
   * @param about `caller`: the name under which its caller is counted; `timeoutMs`: the time limit of the run
   * @throws MeshError `resource_exhausted` past a quota, with the time to wait
   */
  admit(ref: InvocationRef, about: { caller: string; timeoutMs: number }): Promise<AdmittedRun>;
}
