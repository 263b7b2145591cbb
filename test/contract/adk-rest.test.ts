import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import { agentManifest } from '@agentmesh/mesh';
import { AdkApiClient } from '@google/adk-devtools';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deskApp } from '../browser/desk/src/agent.ts';
import { startAdkServer } from './adk-server.fixture.ts';
import { compareServers, keyOf } from './compare.ts';
import { knownDifferences } from './known-differences.ts';

let mesh: LocalMesh;
let adk: Awaited<ReturnType<typeof startAdkServer>>;

beforeAll(async () => {
  const services = [{ manifest: agentManifest(deskApp), folder: 'test/browser/desk' }];
  mesh = await launchMesh({ services, model: 'scripted' });
  adk = await startAdkServer();
});
afterAll(async () => {
  await adk?.[Symbol.asyncDispose]();
  await mesh?.[Symbol.asyncDispose]();
});

describe("the gateway and ADK's API server", () => {
  it('answer the same requests in the same form, but for the listed differences', async () => {
    const found = await compareServers(mesh.gatewayUrl, adk.url);
    const sorted = (list: readonly { request: string; at: string; agentmesh: string; adk: string }[]) =>
      list.map((each) => `${keyOf(each)}: ${each.agentmesh}, ADK ${each.adk}`).sort();
    expect(sorted(found)).toEqual(sorted(knownDifferences));
  });

  it.each(['the gateway', "ADK's server"])("serve ADK's own client: %s", async (which) => {
    const isOurs = which === 'the gateway';
    const client = new AdkApiClient({ backendUrl: isOurs ? mesh.gatewayUrl : adk.url });
    const user = { appName: deskApp.name, userId: 'bob' };
    expect(await client.listApps()).toEqual([deskApp.name]);
    const created = await client.createSession({ ...user, state: { colour: 'red' } });
    const session = { ...user, sessionId: created.id };
    const events = await Array.fromAsync(
      client.runAsync({ ...session, newMessage: { role: 'user', parts: [{ text: 'save a.txt' }] } }),
    );
    expect(events.at(-1)?.content?.parts?.[0]?.text).toBe('I have saved a.txt.');
    expect((await client.getSession(session)).state).toMatchObject({ colour: 'red', last_file: 'a.txt' });
    expect(await client.listArtifacts(session)).toEqual(['a.txt']);
    expect(await client.listArtifactVersions({ ...session, artifactName: 'a.txt' })).toEqual([0]);
    expect(await client.loadArtifact({ ...session, artifactName: 'a.txt', version: 0 })).toMatchObject({
      inlineData: { mimeType: 'text/plain' },
    });
    expect((await client.listSessions(user)).map(({ id }) => id)).toEqual([created.id]);
    if (!isOurs) {
      // ADK's client cannot read that ADK's server has deleted a session: the answer has no body.
      await expect(client.deleteSession(session)).rejects.toThrow(/JSON/);
      return;
    }
    await client.deleteArtifact({ ...session, artifactName: 'a.txt' });
    expect(await client.listArtifacts(session)).toEqual([]);
    await client.deleteSession(session);
    expect(await client.listSessions(user)).toEqual([]);
  });
});

describe("the routes of ADK's Python server", () => {
  const ask = async (path: string, method = 'GET', body?: unknown) => {
    const json = { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
    const answer = await fetch(`${mesh.gatewayUrl}${path}`, { method, ...(body !== undefined && json) });
    const text = await answer.text();
    return { status: answer.status, body: text === '' ? '' : JSON.parse(text) };
  };
  const app = { name: 'desk_app', rootAgentName: 'desk_agent', description: 'Helps in the office.' };

  it.each<[path: string, body: unknown]>([
    ['/list-apps?detailed=true', { apps: [{ ...app, language: 'typescript', isComputerUse: false }] }],
    ['/list-apps?detailed=false&relative_path=./', ['desk_app']],
    ['/dev/apps/desk_app/graph?darkMode=true', { dotSrc: expect.stringContaining('"desk_agent"') }],
    [
      '/dev/apps/desk_app/build_graph_image?node=desk_agent',
      expect.objectContaining({ dotSrc: expect.stringContaining('digraph') }),
    ],
    ['/dev/apps/desk_app/eval_sets', []],
    ['/dev/apps/desk_app/eval-sets', { evalSetIds: [] }],
    ['/dev/apps/desk_app/eval_results', []],
    ['/dev/apps/desk_app/eval-results', { evalResultIds: [] }],
    ['/dev/apps/desk_app/metrics-info', { metricsInfo: [] }],
    ['/dev/apps/desk_app/tests', []],
    ['/dev/apps/desk_app/builder?ts=1&tmp=true', ''],
    ['/config/telemetry', { telemetry: false }],
    ['/dev/apps/desk_app/debug/trace/session/none?userId=ann', []],
    ['/debug/trace/session/none?user_id=ann&app_name=desk_app', []],
  ])('answer %s', async (path, body) => {
    expect(await ask(path)).toEqual({ status: 200, body });
  });

  it('describe an app with its agents and tools', async () => {
    const { body } = await ask('/apps/desk_app/app-info');
    const functionDeclarations = [{ name: 'save_file' }, { name: 'order_lunch' }];
    expect(body).toEqual({
      ...{ ...app, language: 'typescript', isComputerUse: false },
      agents: {
        desk_agent: {
          ...{ name: 'desk_agent', description: 'Helps in the office.' },
          ...{ tools: [{ functionDeclarations }], subAgents: [] },
        },
      },
    });
  });

  it.each([
    ['POST', '/dev/apps/desk_app/eval-sets', 501, 'runs no evaluations'],
    ['POST', '/dev/apps/desk_app/eval_sets/mine/run_eval', 501, 'runs no evaluations'],
    ['DELETE', '/dev/apps/desk_app/eval-sets/mine/eval-cases/one', 501, 'runs no evaluations'],
    ['PUT', '/dev/apps/desk_app/tests/one', 501, 'keeps no tests'],
    ['POST', '/dev/apps/desk_app/builder/save', 501, 'change their files'],
    ['POST', '/config/telemetry', 501, 'sends no data'],
    ['GET', '/run_live?app_name=desk_app', 501, 'POST /run_sse'],
    ['GET', '/dev/apps/desk_app/eval_sets/mine', 404, 'no such evaluation'],
    ['GET', '/dev/apps/no_app/eval_sets', 404, 'there is no app no_app'],
    ['GET', '/apps/no_app/app-info', 404, 'there is no app no_app'],
    ['GET', '/dev/apps/desk_app/debug/trace/session/s1', 400, '?user_id='],
    ['GET', '/list-apps?detailed=yes', 400, 'must be true or false'],
  ])('refuse %s %s with %i and a reason', async (method, path, status, reason) => {
    const answer = await ask(path, method, method === 'GET' ? undefined : {});
    expect(answer).toMatchObject({ status, body: { error: expect.stringContaining(reason) } });
  });
});
