/** A problem of a mesh. */
export interface Finding {
  /** The name of the check, for programs. */
  check: string;
  /** `error`: the mesh does not work, or loses data. `warning`: it may. */
  level: 'error' | 'warning';
  problem: string;
  /** The possible cost of the problem. */
  cost: string;
  /** The advice: how to mend it. */
  remedy: string;
}

/** The result of checks: facts for people, and problems. */
export interface Checked {
  facts: string[];
  findings: Finding[];
}

/** Joins the results of checks. */
export function joined(results: readonly Checked[]): Checked {
  return {
    facts: results.flatMap(({ facts }) => facts),
    findings: results.flatMap(({ findings }) => findings),
  };
}
