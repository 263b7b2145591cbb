import { App, FunctionTool, LlmAgent } from '@agentmesh/agent';
import { z } from 'zod';

const prices: Record<string, number> = { GOOG: 182.4, AAPL: 231.1, MSFT: 415.7, NVDA: 138.2 };

const stockPrice = new FunctionTool({
  name: 'get_stock_price',
  description: 'Tells the last price of a stock.',
  parameters: z.object({ ticker: z.string().describe('Ticker symbol, such as GOOG.') }),
  execute({ ticker }, context) {
    const symbol = ticker.toUpperCase();
    const price = prices[symbol];
    if (price === undefined) {
      return {
        status: 'error',
        message: `no price for ${symbol}; known are ${Object.keys(prices).join(', ')}`,
      };
    }
    context?.state.set('user:last_ticker', symbol);
    return { status: 'success', ticker: symbol, price, currency: 'USD' };
  },
});

export const stockAgent = new LlmAgent({
  name: 'stock_agent',
  model: 'gemini-2.5-flash',
  description: 'Knows the prices of stocks.',
  instruction:
    'Answer questions about stock prices. Look every price up with get_stock_price; never guess one.',
  tools: [stockPrice],
});

export const stockApp = new App({ name: 'stock_app', rootAgent: stockAgent });
