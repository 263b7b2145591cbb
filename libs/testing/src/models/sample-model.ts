import { type ModelScript, startScriptedGemini } from './scripted-gemini.ts';

interface Log {
  info(fields: object, message: string): void;
}

/**
 * Lets a sample run without a key: where the environment has none, starts a Gemini-compatible server in this process whose answers come from
 * the script, and points Gemini's client at it. With a key nothing is done, and the same code talks to Gemini.
 */
export async function useScriptWithoutKey(
  script: ModelScript,
  log: Log,
): Promise<AsyncDisposable | undefined> {
  const { env } = process;
  if (env.GEMINI_API_KEY || env.GOOGLE_API_KEY || env.GOOGLE_GEMINI_BASE_URL) {
    log.info({ model: 'gemini' }, 'answers come from Gemini');
    return undefined;
  }
  const server = await startScriptedGemini({ script });
  env.GOOGLE_GEMINI_BASE_URL = server.url;
  env.GEMINI_API_KEY = 'scripted';
  log.info({ model: 'scripted' }, 'GEMINI_API_KEY is not set: answers come from a script, not from a model');
  return server;
}
