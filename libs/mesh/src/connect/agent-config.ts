import type { BaseAgent } from '@agentmesh/agent';
import { MeshError } from '@agentmesh/protocol';
import { type Config, type Logger, oneOf, variable } from '@agentmesh/service';
import { modelsOf } from '../serve/models-of.ts';

/** The variables of an agent's process, beside the variables of every service. */
export const agentConfig = {
  model: variable(
    'MESH_MODEL',
    'scripted: answers come from a script at GOOGLE_GEMINI_BASE_URL, which npm start sets; unset: from the models of the agent',
    oneOf('scripted'),
    { optional: true },
  ),
};

/**
 * Checks that the models of an agent are configured, before the agent takes any work.
 *
 * @throws MeshError `failed_precondition` that names the variables to set
 */
export function assertModels(agent: BaseAgent, { model }: Config<typeof agentConfig>, log: Logger): void {
  if (model === 'scripted' && !process.env.GOOGLE_GEMINI_BASE_URL) {
    throw new MeshError(
      'failed_precondition',
      'MESH_MODEL=scripted needs a scripted model, whose address is GOOGLE_GEMINI_BASE_URL: npm start and npm run demo start one for each agent with a script; unset MESH_MODEL to ask the model itself',
    );
  }
  const problems = new Set(modelsOf(agent).flatMap((llm) => llm.keyProblems()));
  if (problems.size > 0) {
    throw new MeshError(
      'failed_precondition',
      `${[...problems].join('; ')}. Without a key: give the agent a script, model.script.ts, and start it by npx agentmesh dev; the samples of agentmesh: MESH_MODEL=scripted npm start`,
    );
  }
  if (model === 'scripted') log.info({ model }, 'answers come from a script, not from a model');
}
