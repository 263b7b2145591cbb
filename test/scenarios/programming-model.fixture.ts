import {
  latestFunctionResponses,
  latestUserText,
  type ModelReply,
  type ModelScript,
  sequence,
} from '@agentmesh/testing';

const call = (name: string, args: Record<string, unknown> = {}): ModelReply => ({ calls: [{ name, args }] });
const says = (text: string): ModelReply => ({ text });

/** The scripts of the models in the examples of docs/programming-model.md. */
export const scripts: Record<string, ModelScript> = {
  'function-tools': sequence(
    {
      calls: [
        { name: 'book', args: { people: 4 } },
        { name: 'book', args: { meal: 'lunch' } },
        { name: 'book', args: { people: 2, meal: 'breakfast' } },
        { name: 'tip', args: { bill: 50 } },
        { name: 'tip', args: {} },
        { name: 'menu' },
        { name: 'taxi' },
        { name: 'cook' },
        { name: 'count' },
        { name: 'dance' },
      ],
    },
    says('All done.'),
  ),
  'tool-context': sequence(
    call('like', { what: 'tea' }),
    call('recall'),
    says('You like tea.'),
    call('recall'),
    says('Still tea.'),
    call('file', { text: 'tea' }),
    says('Filed.'),
    call('file', { text: 'milk' }),
    says('Filed again.'),
    call('show'),
    call('recall'),
    says('Nothing.'),
    call('wait'),
  ),
  confirmation: sequence(
    call('reimburse', { amount: 50 }),
    says('You have your 50.'),
    call('reimburse', { amount: 500 }),
    says('Noon.'),
    says('You have your 500.'),
    call('time_off', { days: 5 }),
    says('You have three days.'),
  ),
  questions: sequence(
    call('book', { people: 2 }),
    says('Have a good time in Rome.'),
    call('request_input', { message: 'What shall I write on it?' }),
    says('It is in the post.'),
  ),
  'llm-agent': sequence(
    says('Ahoy, Ann!'),
    says('Arr, Ann!'),
    says('{"verdict": "good", "points": 9}'),
    says('Splendid.'),
    call('sum', { a: 2, b: 3 }),
    call('set_model_response', { total: 'five' }),
    call('set_model_response', { total: 5 }),
  ),
  callbacks: sequence(
    { calls: [{ name: 'clock' }, { name: 'broken' }] },
    says('At noon.'),
    { error: { status: 400, message: 'fever' } },
    call('clock'),
    call('clock'),
  ),
  'agent-tool': sequence(
    call('summarizer', { text: 'Long ago' }),
    says('{"summary": "past"}'),
    call('summarizer', { text: 'Far away' }),
    says('{"summary": "distance"}'),
    call('summarizer'),
    says('Past, distance, and nothing.'),
    call('painter', { request: 'Paint the sun.' }),
    call('save'),
    says('Painted.'),
    says('The picture is there.'),
    call('broken', { request: 'Try.' }),
    { error: { status: 400, message: 'no such thing' } },
    says('It does not work.'),
    call('buyer', { request: 'Buy a boat.' }),
    call('approve'),
    says('I have asked.'),
    says('Somebody must approve ticket T-1.'),
    call('translator', { request: 'sun' }),
    { chunks: ['Son', 'ne'] },
  ),
  transfer: sequence(
    call('transfer_to_agent', { agentName: 'billing' }),
    says('Let me see.'),
    says('Quite sure.'),
    call('transfer_to_agent', { agentName: 'refunds' }),
    says('Here it is.'),
    says('Yes, I am.'),
    call('route', { to: 'billing' }),
    says('That is me.'),
    call('transfer_to_agent', { agentName: 'king' }),
    call('route', { to: 'king' }),
    says('There is no king.'),
    call('transfer_to_agent', { agentName: 'archive' }),
  ),
  workflows: byAgent({
    'Invent a hero': [says('a cat')],
    'Invent a place': [says('Rome')],
    'Write a sentence about a cat in Rome': [says('A cat.'), says('A cat lives in the Forum.')],
    'Call exit_loop': [says('Too short.'), call('exit_loop')],
    'Find a title': [says('Roman Holiday')],
    'Count.': [says('One.'), call('enough'), says('Two.')],
  }),
  'workflows-on-the-mesh': byAgent({
    'Write a line': [says('The moon is up.')],
    'To French': [says('La lune est levée.')],
    'To German': [says('Der Mond ist aufgegangen.')],
    Check: [says('Once more.'), call('exit_loop')],
  }),
  toolsets: sequence(
    call('calc_add', { a: 1, b: 2 }),
    says('3'),
    call('calc_divide', { a: 1, b: 2 }),
    says('0.5'),
  ),
  'mesh-toolset'(request) {
    const [result] = latestFunctionResponses(request);
    if (result) return says(`It is ${result.response?.result}.`);
    const wanted = latestUserText(request).includes('/') ? 'math_divide' : 'math_add';
    const isThere = request.tools.some(({ name }) => name === wanted);
    return isThere ? call(wanted, { a: 6, b: 3 }) : says(`I have no ${wanted}.`);
  },
  'long-running': sequence(
    call('approve', { amount: 200 }),
    says('I have asked for approval.'),
    says('It is being read.'),
    call('pay', { amount: 200 }),
    says('You have 200.'),
    call('backup'),
    says('3 files are safe.'),
  ),
  streaming(request) {
    const [result] = latestFunctionResponses(request);
    if (result) return { chunks: ['Summary:', ` ${result.response?.result}`] };
    const isAssistant = request.tools.length > 0;
    return isAssistant
      ? call('summary_agent', { request: latestUserText(request) })
      : { chunks: ['The sun', ' moves', ' a lot.'] };
  },
  models(request) {
    if (request.model === 'gemini-of-tomorrow') return { error: { status: 404, message: 'not yet' } };
    const thinks = request.generationConfig.thinkingConfig?.includeThoughts;
    return thinks ? { parts: [{ text: 'A greeting.', thought: true }, { text: 'Hello!' }] } : says('Hi!');
  },
};

/** Makes a script that selects the answers by the instruction, for agents that run at the same time. */
function byAgent(answers: Record<string, ModelReply[]>): ModelScript {
  return ({ systemInstruction = '' }) => {
    const of = Object.keys(answers).find((words) => systemInstruction.includes(words)) ?? '';
    return (
      answers[of]?.shift() ?? { error: { status: 400, message: `no answer for "${systemInstruction}"` } }
    );
  };
}
