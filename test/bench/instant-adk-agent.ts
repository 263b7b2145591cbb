import { LlmAgent as AdkAgent, BaseLlm as AdkLlm, FunctionTool as AdkTool } from '@google/adk';
import { z } from 'zod';
import { answerOf, price } from './model.ts';

class InstantAdkLlm extends AdkLlm {
  override async *generateContentAsync({ contents }: Parameters<AdkLlm['generateContentAsync']>[0]) {
    yield { content: answerOf(contents) };
  }

  override connect(): never {
    throw new Error('not used');
  }
}

/** Makes the same agent in ADK. */
export function instantAdkAgent(name: string, includeContents: 'default' | 'none' = 'default'): AdkAgent {
  const tool = new AdkTool({
    name: 'get_stock_price',
    description: 'Tells the last price of a stock.',
    parameters: z.object({ ticker: z.string() }),
    execute: () => price,
  });
  return new AdkAgent({
    name,
    includeContents,
    model: new InstantAdkLlm({ model: 'instant' }),
    tools: [tool],
  });
}
