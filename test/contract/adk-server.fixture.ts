import type * as agentmesh from '@agentmesh/agent';
import { startScriptedGemini } from '@agentmesh/testing';
import * as adk from '@google/adk';
import { AdkApiServer } from '@google/adk-devtools';
import { deskAppOf } from '../browser/desk/src/agent.ts';
import { script } from '../browser/desk/src/script.fixture.ts';

type AgentLoader = NonNullable<ConstructorParameters<typeof AdkApiServer>[0]['agentLoader']>;

/** Starts ADK's API server with the desk app, whose model is a script. */
export async function startAdkServer(): Promise<AsyncDisposable & { url: string }> {
  const model = await startScriptedGemini({ script });
  // The client of Gemini reads these.
  process.env.GOOGLE_GEMINI_BASE_URL = model.url;
  process.env.GEMINI_API_KEY = 'scripted';
  process.env.GOOGLE_GENAI_API_KEY = 'scripted';
  adk.setLogger(null);
  const app = deskAppOf(adk as unknown as typeof agentmesh);
  // The loader of ADK reads agents from files, which it compiles.
  const loader = {
    listAgents: async () => [app.name],
    getAgentFile: async () => ({ load: async () => app, [Symbol.asyncDispose]: async () => {} }),
  };
  const server = new AdkApiServer({
    ...{ host: '127.0.0.1', logLevel: adk.LogLevel.ERROR },
    agentLoader: loader as unknown as AgentLoader,
  });
  await server.start();
  return {
    url: server.url,
    async [Symbol.asyncDispose]() {
      await server.stop();
      await model.close();
    },
  };
}
