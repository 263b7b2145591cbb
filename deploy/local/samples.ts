import { agentManifest, type ServiceManifest, toolManifest } from '@agentmesh/mesh';
import { assistantAgent } from '../../services/agents/assistant/src/agent.ts';
import { customerAgent } from '../../services/agents/customer/src/agent.ts';
import { stockAgent } from '../../services/agents/stock/src/agent.ts';
import { summaryAgent } from '../../services/agents/summary/src/agent.ts';
import { supportAgent } from '../../services/agents/support/src/agent.ts';
import { weatherAgent } from '../../services/agents/weather/src/agent.ts';
import { weatherTool } from '../../services/tools/weather/src/tool.ts';

/** A service of this repository: what it is, and the package that runs it. */
export interface Sample {
  manifest: ServiceManifest;
  folder: string;
}

/** Every sample agent and tool. What each may do on the bus is read off its definition. */
export const samples: readonly Sample[] = [
  { manifest: agentManifest(stockAgent), folder: 'services/agents/stock' },
  { manifest: agentManifest(customerAgent), folder: 'services/agents/customer' },
  { manifest: agentManifest(supportAgent), folder: 'services/agents/support' },
  { manifest: agentManifest(assistantAgent), folder: 'services/agents/assistant' },
  { manifest: agentManifest(summaryAgent), folder: 'services/agents/summary' },
  { manifest: agentManifest(weatherAgent), folder: 'services/agents/weather' },
  { manifest: toolManifest(weatherTool), folder: 'services/tools/weather' },
];
