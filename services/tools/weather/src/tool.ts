import { FunctionTool } from '@agentmesh/agent';
import { z } from 'zod';

const reports: Record<string, string> = {
  london: 'In London it is cloudy, 18 °C, and it may rain.',
  paris: 'In Paris it is sunny, 25 °C.',
  oslo: 'In Oslo it snows, -3 °C.',
};

export const weatherTool = new FunctionTool({
  name: 'get_weather',
  description: 'Tells the present weather of a city.',
  parameters: z.object({ city: z.string().describe('Name of the city.') }),
  execute({ city }, context) {
    const report = reports[city.toLowerCase()];
    if (!report) return { status: 'error', message: `There is no weather report for ${city}.` };
    context?.state.set('user:last_city', city);
    return { status: 'success', report };
  },
});
