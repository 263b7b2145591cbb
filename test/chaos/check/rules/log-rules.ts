import { type Found, type History, nameOf } from '../history.ts';
import { isCopied } from '../model.ts';

type Logs = Pick<History, 'sessions'>;

/** Finds sessions whose events are not numbered 1, 2, 3, … */
export function withoutGap({ sessions }: Logs): Found[] {
  return sessions.flatMap((session) => {
    const at = session.events.findIndex(({ seq }, index) => seq !== index + 1);
    if (at === -1) return [];
    const what = `event ${at + 1} of the log has the number ${session.events[at]?.seq}`;
    return [{ session: nameOf(session), what }];
  });
}

/** Finds event ids that occur twice in all logs together. A forked session repeats the ids of its original. */
export function eventsOnce({ sessions }: Logs): Found[] {
  const first = new Map<string, string>();
  return sessions.flatMap((session) =>
    session.events.flatMap(({ seq, event }) => {
      if (isCopied(session, event.invocationId)) return [];
      const here = `${nameOf(session)} ${seq}`;
      const there = first.get(event.id);
      if (there === undefined) first.set(event.id, here);
      const { invocationId } = event;
      return there === undefined
        ? []
        : [
            {
              session: nameOf(session),
              invocationId,
              what: `event id ${event.id} is at ${there} and at ${here}`,
            },
          ];
    }),
  );
}
