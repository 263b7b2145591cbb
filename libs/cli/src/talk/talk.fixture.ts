import { AgentTool, App, FunctionTool, Gemini, LlmAgent } from '@agentmesh/agent';
import { provision } from '@agentmesh/bus';
import { startGateway } from '@agentmesh/gateway';
import { gatewayConfig } from '@agentmesh/gateway/config';
import { type ConnectedMesh, connectService, remoteTool, serveAgent, serveTool } from '@agentmesh/mesh';
import { createLogger, readConfig, serviceConfig } from '@agentmesh/service';
import {
  freePort,
  latestFunctionResponses,
  latestUserText,
  startScriptedGemini,
  until,
} from '@agentmesh/testing';
import { startNats, startRedis } from '@agentmesh/testing/servers';
import { z } from 'zod';
import { jsonOf } from '../commands.fixture.ts';

const parameters = z.object({ amount: z.number() });
const payTool = new FunctionTool({
  ...{ name: 'pay', description: 'Pays.', parameters },
  requireConfirmation: ({ amount }) => amount > 100,
  execute: ({ amount }) => ({ paid: amount }),
});

/** Never returns. */
const hangTool = new FunctionTool({
  ...{ name: 'hang', description: 'Hangs.', parameters: z.object({ for: z.string() }) },
  execute: () => new Promise(() => {}),
});

/** The environment by which commands find a mesh. */
export interface TalkPlace {
  env: Record<string, string>;
}

/** Starts a mesh with an agent that pays, asks before it pays much, and hangs on request. */
export async function startTalkMesh(owners: AsyncDisposableStack): Promise<TalkPlace> {
  const log = createLogger({ service: 'test', replica: 'test', level: 'fatal' });
  const [nats, redis] = await Promise.all([startNats(), startRedis()]);
  owners.use(nats);
  owners.use(redis);
  const model = owners.use(
    await startScriptedGemini({
      script: (request) => {
        if (request.systemInstruction?.includes('You are the clerk'))
          return { text: 'The clerk says hello.' };
        const [result] = latestFunctionResponses(request);
        if (result) return { text: `Result: ${JSON.stringify(result.response)}` };
        if (latestUserText(request) === 'hang') return { calls: [{ name: 'hang', args: { for: 'ever' } }] };
        if (latestUserText(request) === 'ask the clerk')
          return { calls: [{ name: 'clerk', args: { request: 'hi' } }] };
        const amount = /\d+/.exec(latestUserText(request))?.[0];
        if (amount === undefined) return { text: 'How much do you want to pay?' };
        if (amount === '13') return { error: { status: 400, message: 'thirteen is not allowed' } };
        return { calls: [{ name: 'pay', args: { amount: Number(amount) } }] };
      },
    }),
  );
  const port = await freePort();
  const env = { NATS_URL: nats.url, REDIS_URL: redis.url, MESH_HTTP_PORT: String(port) };
  const place = { env: { ...env, MESH_GATEWAY_URL: `http://127.0.0.1:${port}` } };
  await provision({ url: nats.url, agents: ['payer'], tools: ['pay'], storage: 'memory' });
  const config = readConfig({ ...serviceConfig, ...gatewayConfig }, env);
  const connect = async (service: string): Promise<ConnectedMesh> =>
    owners.use(await connectService(service, config, log));
  const gemini = new Gemini({ model: 'scripted', apiKey: 'scripted', baseUrl: model.url });
  const clerk = new LlmAgent({ name: 'clerk', model: gemini, instruction: 'You are the clerk.' });
  const payer = new LlmAgent({
    ...{ name: 'payer', model: gemini },
    tools: [remoteTool('pay'), hangTool, new AgentTool({ agent: clerk })],
  });
  const app = new App({ name: 'pay_app', rootAgent: payer });
  const mesh = await connect('agent_payer');
  for (const started of [
    await serveTool(await connect('tool_pay'), payTool),
    await serveAgent(mesh, payer, { app: app.name, version: '3.2.1' }),
  ])
    owners.defer(() => started.stop({ graceMs: 0 }));
  await until(() => mesh.bus.directory.get('tool', 'pay'), { what: 'the card of the tool' });
  owners.use(await startGateway(config, { log, replica: 'gateway-test', version: undefined }));
  await until(async () => (await jsonOf(place, ['cards', 'list']))[0], { what: 'the cards' });
  return place;
}
