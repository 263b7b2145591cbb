import { geminiKeyOf } from '@agentmesh/agent/internal';
import { agentConfig } from '@agentmesh/mesh';

/** The choice of models for a mesh on this machine, with a notice for the person who starts it. */
export interface ModelChoice {
  model: 'scripted' | undefined;
  /** The first line of the output; absent when the environment names the models itself. */
  notice?: string;
}

const withKey = 'GEMINI_API_KEY=… asks Gemini';

/**
 * Chooses the models: the value of `MESH_MODEL`; else Gemini when the environment holds a key; else the
 * scripts of the samples.
 *
 * @param isDemo the demo takes scripts on any servers; a mesh that stays takes them by itself only on its own
 * servers, because foreign servers hold real conversations
 * @throws Error for another value of `MESH_MODEL`; on foreign servers without a key
 */
export function chooseModel(env: NodeJS.ProcessEnv, { isDemo }: { isDemo: boolean }): ModelChoice {
  const result = agentConfig.model.read(env.MESH_MODEL);
  if ('problem' in result) throw new Error(`MESH_MODEL ${result.problem}`);
  if (result.value) return { model: result.value };
  if (geminiKeyOf(env) || env.GOOGLE_GEMINI_BASE_URL) return { model: undefined };
  if (!isDemo && (env.NATS_URL || env.REDIS_URL)) {
    throw new Error(
      `no key for the models of the agents: ${withKey}, MESH_MODEL=scripted takes answers from scripts. On the servers of NATS_URL and REDIS_URL one of the two must be set`,
    );
  }
  return {
    model: 'scripted',
    notice: `No key for a model is set: answers come from scripts, as with MESH_MODEL=scripted. ${withKey}.`,
  };
}
