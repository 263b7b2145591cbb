import { type AuthConfig, FunctionTool, getFunctionCalls, LlmAgent } from '@agentmesh/agent';
import { chat, runnerOf } from '../programming-model/chat.ts';

const mapsKey: AuthConfig = {
  credentialKey: 'maps',
  authScheme: { type: 'apiKey', in: 'header', name: 'X-Key' },
};
const good = new Set(['second']);

// As in ADK, the tool asks when it has no credential, or when its credential does not work.
const route = new FunctionTool({
  name: 'route',
  description: 'Finds the way.',
  execute: (_input, context) => {
    const credential = context?.getAuthResponse(mapsKey);
    if (good.has(credential?.apiKey ?? '')) return { km: 3 };
    context?.requestCredential(mapsKey);
    return { status: credential ? 'the key was refused' : 'a key is needed' };
  },
});

const agent = new LlmAgent({ name: 'guide', model: 'gemini-2.5-flash', tools: [route] });
const conversation = await chat(runnerOf(agent));

function answerTo(events: Awaited<ReturnType<typeof conversation.say>>, apiKey: string) {
  const question = events.flatMap(getFunctionCalls).find(({ name }) => name === 'adk_request_credential');
  const response = { exchangedAuthCredential: { authType: 'apiKey', apiKey } };
  return { id: question?.id ?? '', name: 'adk_request_credential', response };
}

const asked = await conversation.say('How far is it?');
const askedAgain = await conversation.answer(answerTo(asked, 'first'));
await conversation.answer(answerTo(askedAgain, 'second'));
await conversation.say('And back?');
const log = JSON.stringify(await conversation.session());
console.log(`Is the key in the log? ${log.includes('second') ? 'Yes.' : 'No.'}`);
