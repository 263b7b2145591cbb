import { runAgentService } from '@agentmesh/mesh';
import { boss } from '../../agents.fixture.ts';

await runAgentService({ agent: boss, app: 'boss_app' });
