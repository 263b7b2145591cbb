/** The moments of a run at which a client may act. */
const moments = ['accepted', 'call', 'first-word', 'last-word', 'over'] as const;
export type Moment = (typeof moments)[number];

/** The progress of one message, for the other steps of its visit. */
export interface Milestones {
  invocationId?: string;
  /** Resolves at the moment, or at the end of the run if the moment never comes. */
  reached(moment: Moment): Promise<void>;
  pass(moment: Moment): void;
}

export function makeMilestones(): Milestones {
  const gates = new Map(moments.map((moment) => [moment, Promise.withResolvers<void>()]));
  return {
    reached: (moment) => gates.get(moment)?.promise ?? Promise.resolve(),
    pass(moment) {
      const passed = moment === 'over' ? moments : [moment];
      for (const each of passed) gates.get(each)?.resolve();
    },
  };
}
