import { memoryServiceConformance } from '../conformance/memory/memory-service.ts';
import { InMemoryMemoryService } from './in-memory-memory-service.ts';

const dispose = async () => {};
memoryServiceConformance('memory', async () => ({ service: new InMemoryMemoryService(), dispose }));
