import type { Scenario } from '../kit.ts';
import { agentToolScenarios } from './agent-tools.ts';
import { toolScenarios } from './tools.ts';
import { transferScenarios } from './transfers.ts';
import { workflowScenarios } from './workflows.ts';

export const scenarios: readonly Scenario[] = [
  ...toolScenarios,
  ...agentToolScenarios,
  ...transferScenarios,
  ...workflowScenarios,
];
