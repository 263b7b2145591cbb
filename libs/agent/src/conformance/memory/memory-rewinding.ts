import { describe, expect, it } from 'vitest';
import { createEvent } from '../../events/event.ts';
import type { MemoryKit } from './kit.ts';
import { eventOf, owner, sessionOf } from './kit.ts';

/** Tests of rewound sessions: rewound events have no effect. */
export function memoryRewinding(name: string, { withService, all }: MemoryKit): void {
  describe(`memory service, rewinding: ${name}`, () => {
    it(
      'leaves out what was rewound',
      withService(async (service) => {
        const events = [said('i1', 'tea'), said('i2', 'secret'), said('i2', 'more'), rewind('i2')];
        await service.addSessionToMemory(sessionOf('s1', ...events, said('i3', 'milk')));
        expect(await all(service)).toEqual(['tea', 'milk']);
        await service.addSessionToMemory({ ...sessionOf('s2', ...events.slice(1)), seq: 4 });
        expect(await all(service)).toEqual(['tea', 'milk']);
      }),
    );

    it(
      'forgets what was rewound since, however much of the session was read',
      withService(async (service) => {
        const ids = ['i1', 'i2', 'i3', 'i4'];
        const events = [...ids.map((id) => said(id, id)), rewind('i3'), said('i5', 'i5')];
        const mark = () => service.findMark({ ...owner, sessionId: 's1' });
        await service.addEventsToMemory({ ...owner, sessionId: 's2', events: events.slice(0, 4) });
        for (const [from, seq] of [
          [0, 5],
          [2, 6],
        ] as const) {
          await service.deleteMemories({ ...owner, sessionId: 's1' });
          await service.addSessionToMemory(sessionOf('s1', ...events.slice(0, 4)));
          expect(await all(service)).toHaveLength(8);
          await service.addSessionToMemory({ ...sessionOf('s1', ...events.slice(from, seq)), seq });
          // Another session may have events with these ids.
          expect((await all(service)).slice(4)).toEqual(seq === 5 ? ['i1', 'i2'] : ['i1', 'i2', 'i5']);
          await service.addSessionToMemory(sessionOf('s1', ...events));
          expect((await all(service)).slice(4)).toEqual(['i1', 'i2', 'i5']);
          expect(await mark()).toEqual({ seq: 6, eventId: events[5]?.id });
        }
      }),
    );

    it(
      'forgets later what was rewound before the events that were read',
      withService(async (service) => {
        const events = [...['i1', 'i2', 'i3'].map((id) => said(id, id)), rewind('i2'), said('i5', 'i5')];
        await service.addSessionToMemory(sessionOf('s1', ...events.slice(0, 3)));
        await service.addSessionToMemory({ ...sessionOf('s1', ...events.slice(2)), seq: 5 });
        expect(await all(service)).toEqual(['i1', 'i2', 'i5']);
        await service.addSessionToMemory(sessionOf('s1', ...events));
        expect(await all(service)).toEqual(['i1', 'i5']);
      }),
    );
  });
}

function said(invocationId: string, text: string) {
  return { ...eventOf(text), invocationId };
}

function rewind(rewindBeforeInvocationId: string) {
  return createEvent({ author: 'user', timestamp: 0, actions: { rewindBeforeInvocationId } });
}
