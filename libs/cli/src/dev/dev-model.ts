import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { geminiKeyOf } from '@agentmesh/agent/internal';
import { Misuse } from '../command/program.ts';

/**
 * The models of the agents: a script, a model with OpenAI's interface (at OpenAI without a `url`), another
 * server with Gemini's interface, or the models that agents name.
 */
export type DevModel =
  | { kind: 'scripted'; file: string }
  | { kind: 'openai'; name: string; url?: string }
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
  if (modelUrl !== undefined) return modelAt(modelUrl, model);
  const [, name] = openaiForm.exec(model ?? '') ?? [];
  if (name !== undefined) return { kind: 'openai', name };
  if (model !== undefined) {
    const [, file] = /^scripted(?:=(.+))?$/.exec(model) ?? [];
    if (file === undefined && model !== 'scripted')
      throw new Misuse(
        `--model must be scripted, scripted=<file> or openai=<name>; it is ${JSON.stringify(model)}`,
      );
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

const openaiForm = /^openai=(.+)$/;

/** Chooses the models of a server by its address. */
function modelAt(url: string, model: string | undefined): DevModel {
  if (!/^https?:\/\//.test(url) || !URL.canParse(url))
    throw new Misuse(
      `--model-url must be an address such as http://127.0.0.1:9000; it is ${JSON.stringify(url)}`,
    );
  if (model === undefined) return { kind: 'url', url };
  const [, name] = openaiForm.exec(model) ?? [];
  if (name === undefined) throw new Misuse('--model-url stands alone, or beside --model openai=<name>');
  return { kind: 'openai', name, url };
}

/** Returns the program and the arguments of the process that answers for the models; undefined for no process. */
export function modelProcessOf(model: DevModel, port: () => number): ModelProcess | undefined {
  if (model.kind === 'scripted')
    return { program: 'model-process', args: () => [model.file, String(port())] };
  if (model.kind === 'openai')
    return { program: 'openai-process', args: () => [model.name, model.url ?? '', String(port())] };
  return undefined;
}

export interface ModelProcess {
  program: string;
  args: () => string[];
}

/**
 * Returns the variables by which an agent asks a server with Gemini's interface. The client of Gemini requires
 * a key, also for a server that needs none.
 */
export function modelVariables(
  model: DevModel,
  processUrl: string | undefined,
  env: NodeJS.ProcessEnv,
): Record<string, string> {
  // A script must not get a real key.
  if (model.kind === 'scripted' && processUrl !== undefined)
    return { MESH_MODEL: 'scripted', GOOGLE_GEMINI_BASE_URL: processUrl, GEMINI_API_KEY: 'scripted' };
  if (model.kind === 'openai' && processUrl !== undefined)
    return { GOOGLE_GEMINI_BASE_URL: processUrl, GEMINI_API_KEY: 'none' };
  if (model.kind === 'url')
    return { GOOGLE_GEMINI_BASE_URL: model.url, ...(!geminiKeyOf(env) && { GEMINI_API_KEY: 'none' }) };
  return {};
}
