import { describe, expect, it } from 'vitest';
import { LlmAgent } from '../flow/llm-agent.ts';
import { LoopAgent } from './loop-agent.ts';
import { ParallelAgent } from './parallel-agent.ts';
import { SequentialAgent } from './sequential-agent.ts';

const kinds = { LlmAgent, SequentialAgent, ParallelAgent, LoopAgent } as const;

describe.each(Object.entries(kinds))('the options of a %s', (_name, Kind) => {
  const base = () => ({ name: 'a', subAgents: [new LlmAgent({ name: 'b' })] });

  it('may hold disabled options of ADK', () => {
    const off = { parentAgent: null, requestProcessors: [], examples: [], rerunOnResume: false };
    expect(new Kind({ ...base(), ...off }).name).toBe('a');
  });

  it('refuse an enabled one: the error names it and its replacement', () => {
    const on = { ...base(), examples: ['hello'] };
    expect(() => new Kind(on)).toThrow('the option `examples` of ADK does nothing here; write them into');
  });
});
