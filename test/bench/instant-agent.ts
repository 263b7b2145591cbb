import { BaseLlm, FunctionTool, type LlmRequest, type LlmResponse, readContents } from '@agentmesh/agent';
import { z } from 'zod';
import { answerOf, price } from './model.ts';

/** A model that answers at once. */
export class InstantLlm extends BaseLlm {
  override async *generateContentAsync(request: LlmRequest): AsyncGenerator<LlmResponse, void, void> {
    yield { content: answerOf(readContents(request)) };
  }
}

export const stockPrice = new FunctionTool({
  name: 'get_stock_price',
  description: 'Tells the last price of a stock.',
  parameters: z.object({ ticker: z.string() }),
  execute: () => price,
});
