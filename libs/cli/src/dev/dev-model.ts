import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { geminiKeyOf } from '@agentmesh/agent/internal';
import { Misuse } from '../command/program.ts';

/** The models of the agents: a script, another server with Gemini's interface, or the models that agents name. */
export type DevModel =
  | { kind: 'scripted'; file: string }
  | { kind: 'url'; url: string }
  | { kind: 'own'; notice?: string };

/** The script that is used when there is no key and no choice. */
export const usualScript = 'model.script.ts';

/**
 * Chooses the models by `--model` and `--model-url`; else the models of the agents when the environment has a
 * key; else the script of the project.
 *
 * @throws Misuse for a wrong option, and for a script that does not exist
 */
export function chooseDevModel(
  { model, modelUrl }: { model: string | undefined; modelUrl: string | undefined },
  { root, env }: { root: string; env: NodeJS.ProcessEnv },
): DevModel {
  if (model !== undefined && modelUrl !== undefined) throw new Misuse('use one of --model and --model-url');
  if (modelUrl !== undefined) {
    if (!/^https?:\/\//.test(modelUrl) || !URL.canParse(modelUrl))
      throw new Misuse(
        `--model-url must be an address such as http://127.0.0.1:9000; it is ${JSON.stringify(modelUrl)}`,
      );
    return { kind: 'url', url: modelUrl };
  }
  if (model !== undefined) {
    const [, file] = /^scripted(?:=(.+))?$/.exec(model) ?? [];
    if (file === undefined && model !== 'scripted')
      throw new Misuse(`--model must be scripted or scripted=<file>; it is ${JSON.stringify(model)}`);
    const path = resolve(root, file ?? usualScript);
    if (!existsSync(path)) throw new Misuse(`there is no script ${path}`);
    return { kind: 'scripted', file: path };
  }
  if (geminiKeyOf(env) || env.GOOGLE_GEMINI_BASE_URL) return { kind: 'own' };
  const script = join(root, usualScript);
  if (existsSync(script)) return { kind: 'scripted', file: script };
  const notice = `no key for Gemini is set (GEMINI_API_KEY), and there is no ${usualScript}: agents with Gemini models do not start`;
  return { kind: 'own', notice };
}

/**
 * Returns the variables by which an agent asks a server with Gemini's interface. The client of Gemini requires
 * a key, also for a server that needs none.
 */
export function modelVariables(
  model: DevModel,
  scriptUrl: string | undefined,
  env: NodeJS.ProcessEnv,
): Record<string, string> {
  // A script must not get a real key.
  if (model.kind === 'scripted' && scriptUrl !== undefined)
    return { MESH_MODEL: 'scripted', GOOGLE_GEMINI_BASE_URL: scriptUrl, GEMINI_API_KEY: 'scripted' };
  if (model.kind === 'url')
    return { GOOGLE_GEMINI_BASE_URL: model.url, ...(!geminiKeyOf(env) && { GEMINI_API_KEY: 'none' }) };
  return {};
}
