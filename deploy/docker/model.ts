// The model of a mesh in containers that try.sh starts: it answers from the script of the weather agent. Its
// argument is the address to listen on; it prints its own address and listens until it is killed.
import { startScriptedGemini } from '@agentmesh/testing/scripted-gemini';
import { script } from '../../services/agents/weather/src/script.fixture.ts';

const { url } = await startScriptedGemini({ script, host: process.argv[2] ?? '127.0.0.1' });
console.log(url);
