import { keeperService } from '@agentmesh/mesh';
import { runMain } from '@agentmesh/service';
import { startKeeper } from './service.ts';

await runMain({ name: keeperService, start: startKeeper });
