import { runAgentService } from '@agentmesh/mesh';
import { useScriptWithoutKey } from '@agentmesh/testing/sample-model';
import { summaryAgent } from './agent.ts';
import { script } from './script.ts';

await runAgentService({ agent: summaryAgent, prepare: (log) => useScriptWithoutKey(script, log) });
