import type { Context, LlmAgent } from '@agentmesh/agent';
import type { Kit, Scenario } from '../kit.ts';
import { call, llm, say, tool } from './parts.ts';

const five = tool('five', () => 5);

/** Makes an agent whose prompts are shortened by the given settings. */
const short = (make: (kit: Kit) => object, tools: string[] = []) => ({
  root: (kit: Kit): LlmAgent => llm('root', { tools, contextCompactors: [make(kit)] })(kit),
});

/** Makes a summarizer that returns two words for any events, as an event of either library. */
const summarizer = ({ createEvent }: Kit) => ({
  summarize: async (events: readonly { timestamp: number }[]) => ({
    ...createEvent({ author: 'model', content: { role: 'user', parts: [{ text: 'the gist' }] } }),
    isCompacted: true as const,
    startTime: events[0]?.timestamp ?? 0,
    endTime: events.at(-1)?.timestamp ?? 0,
    compactedContent: 'the gist',
  }),
});

/** Changes the first message. */
const change = ({ invocationContext }: Context) => {
  const [first] = invocationContext?.session.events ?? [];
  const part = first?.content?.parts?.[0];
  if (part && invocationContext && invocationContext.session.events.length > 1) part.text = 'changed';
  return undefined;
};

export const compactionScenarios: Scenario[] = [
  {
    name: 'a prompt that is cut to the last events',
    section: '§3.10',
    parts: short((kit) => new kit.TruncatingContextCompactor({ threshold: 3 })),
    root: 'root',
    script: { root: [say('a'), say('b'), say('c')] },
    turns: ['one', 'two', 'three'],
  },
  {
    name: 'a prompt that is cut to the last events and the first one',
    section: '§3.10',
    parts: short((kit) => new kit.TruncatingContextCompactor({ threshold: 3, preserveLeadingEvents: 1 })),
    root: 'root',
    script: { root: [say('a'), say('b'), say('c')] },
    turns: ['one', 'two', 'three'],
  },
  {
    name: 'a prompt that is cut within a turn',
    section: '§3.10',
    parts: { ...short((kit) => new kit.TruncatingContextCompactor({ threshold: 1 }), ['five']), five },
    root: 'root',
    script: { root: [call('five'), call('five'), say('ok')] },
    turns: ['go'],
    differs: ['D28'],
  },
  {
    name: 'a prompt whose beginning is summed up',
    section: '§3.10',
    parts: short(
      (kit) =>
        new kit.TokenBasedContextCompactor({
          tokenThreshold: 1,
          eventRetentionSize: 1,
          summarizer: summarizer(kit),
        }),
    ),
    root: 'root',
    script: { root: [say('a'), say('b'), say('c')] },
    turns: ['one', 'two', 'three'],
    differs: ['D28'],
  },
  {
    name: 'an event of an earlier turn that a callback changes',
    section: '§1.5',
    parts: { root: llm('root', { beforeAgentCallback: change }) },
    root: 'root',
    script: { root: [say('a'), say('b')] },
    turns: ['one', 'two'],
    differs: ['D30'],
  },
];
