import type { Scenario } from '../kit.ts';
import { agentToolFlowScenarios } from './agent-tool-flows.ts';
import { agentToolMixScenarios } from './agent-tool-mixes.ts';
import { agentToolScenarios } from './agent-tools.ts';
import { artifactScenarios } from './artifacts.ts';
import { callbackMixScenarios } from './callback-mixes.ts';
import { callbackScenarios } from './callbacks.ts';
import { combinationScenarios } from './combinations.ts';
import { compactionScenarios } from './compaction.ts';
import { confirmationScenarios } from './confirmation.ts';
import { customAgentScenarios } from './custom-agents.ts';
import { escalationScenarios } from './escalation.ts';
import { failingModelScenarios } from './failing-models.ts';
import { gateScenarios } from './gates.ts';
import { generatorScenarios } from './generators.ts';
import { longRunningScenarios } from './long-running.ts';
import { modelScenarios } from './models.ts';
import { newGroundScenarios } from './new-ground.ts';
import { outputScenarios } from './output.ts';
import { overProcessesScenarios } from './over-processes.ts';
import { ownCodeScenarios } from './own-code.ts';
import { pluginMixScenarios } from './plugin-mixes.ts';
import { pluginScenarios } from './plugins.ts';
import { promptScenarios } from './prompts.ts';
import { resultScenarios } from './results.ts';
import { schemaScenarios } from './schemas.ts';
import { sharedStateScenarios } from './shared-state.ts';
import { silentCallScenarios } from './silent-calls.ts';
import { stateScenarios } from './state.ts';
import { toolScenarios } from './tools.ts';
import { toolsetScenarios } from './toolsets.ts';
import { transferTargetScenarios } from './transfer-targets.ts';
import { transferScenarios } from './transfers.ts';
import { workflowScenarios } from './workflows.ts';

export const scenarios: readonly Scenario[] = [
  ...modelScenarios,
  ...promptScenarios,
  ...compactionScenarios,
  ...outputScenarios,
  ...stateScenarios,
  ...toolScenarios,
  ...resultScenarios,
  ...toolsetScenarios,
  ...longRunningScenarios,
  ...agentToolScenarios,
  ...transferScenarios,
  ...transferTargetScenarios,
  ...workflowScenarios,
  ...customAgentScenarios,
  ...callbackScenarios,
  ...pluginScenarios,
  ...artifactScenarios,
  ...confirmationScenarios,
  ...overProcessesScenarios,
  ...newGroundScenarios,
  ...callbackMixScenarios,
  ...pluginMixScenarios,
  ...combinationScenarios,
  ...agentToolFlowScenarios,
  ...agentToolMixScenarios,
  ...failingModelScenarios,
  ...schemaScenarios,
  ...generatorScenarios,
  ...ownCodeScenarios,
  ...sharedStateScenarios,
  ...escalationScenarios,
  ...gateScenarios,
  ...silentCallScenarios,
];
