import { App, BasePlugin, LlmAgent } from '@agentmesh/agent';
import { expect, it } from 'vitest';
import { servedBy } from './service-main.ts';

it('serves an app with all that its definition says', () => {
  class Watch extends BasePlugin {}
  const settings = {
    plugins: [new Watch('watch')],
    resumabilityConfig: { isResumable: true },
    eventsCompactionConfig: { compactionInterval: 3, overlapSize: 1 },
  };
  const rootAgent = new LlmAgent({ name: 'root', model: 'gemini-test' });
  const app = new App({ name: 'desk', rootAgent, ...settings });
  expect(servedBy(app)).toEqual({ agent: rootAgent, app: 'desk', ...settings });
  // A setting that is added to apps has to be served, too.
  expect(Object.keys(app).sort()).toEqual(['name', 'rootAgent', ...Object.keys(settings)].sort());
  expect(servedBy(rootAgent)).toEqual({ agent: rootAgent, plugins: [] });
});
