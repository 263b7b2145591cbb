import { MeshClient, questionsIn, textOf } from '@agentmesh/client';

const settings = document.querySelector('#settings');
const chat = document.querySelector('#chat');
const log = document.querySelector('#log');
const status = document.querySelector('#status');

let client;
let session;
/** The numbers of the events on the page: no event is shown twice, whatever run it comes by. */
let shown = new Set();

settings.addEventListener('submit', async (submitted) => {
  submitted.preventDefault();
  const { url, app, user, key } = Object.fromEntries(new FormData(settings));
  try {
    client = new MeshClient({ url, token: key || undefined });
    session = await client.createSession({ app, user });
    // Runs and questions of an earlier session are not shown any more.
    shown = new Set();
    log.replaceChildren();
    status.textContent = 'connected';
    chat.hidden = false;
    chat.elements.text.focus();
  } catch (error) {
    add('error', await explain(error, url));
  }
});

/**
 * Says what is known of an error. A browser does not tell a page why it got no answer. A request without CORS, whose
 * answer nobody may read, succeeds where any server answers.
 */
async function explain({ message, code, status }, url) {
  if (code === 'unauthenticated') return `${message}. Check the API key.`;
  if (code !== 'unavailable' || status !== undefined) return message;
  const answers = await fetch(url, { mode: 'no-cors' }).then(
    () => true,
    () => false,
  );
  return answers
    ? `A server answers at ${url}, and the browser keeps its answer from this page. Name ${location.origin} in MESH_HTTP_CORS_ORIGINS of the gateway.`
    : `No server answers at ${url}. Check the address, and that the gateway runs.`;
}

chat.addEventListener('submit', (submitted) => {
  submitted.preventDefault();
  const text = chat.elements.text.value.trim();
  if (text === '') return;
  chat.elements.text.value = '';
  add('user', text);
  void follow(client.run(session, text, { onConnection }));
});

/** Shows the events of a run as they happen. */
async function follow(starting) {
  const own = shown;
  // The pieces of an answer that is not complete yet.
  let growing;
  try {
    for await (const { event, seq } of await starting) {
      if (own !== shown) return;
      if (event.partial) {
        growing ??= add('agent', '');
        growing.textContent += textOf(event);
        continue;
      }
      // The event has the whole text, also of pieces that a lost connection has swallowed.
      growing?.remove();
      growing = undefined;
      if (!shown.has(seq)) showEvent(event, seq);
      shown.add(seq);
    }
  } catch (error) {
    growing?.remove();
    if (own === shown) add('error', `${error.code ?? error.name}: ${error.message}`);
  }
}

function showEvent(event, seq) {
  const questions = questionsIn(event);
  for (const { text, thought, functionCall, functionResponse } of event.content?.parts ?? []) {
    const question = questions.find(({ id }) => id === functionCall?.id);
    if (text && !thought) add('agent', text, seq);
    if (question && question.kind !== 'result') ask(question, seq);
    else if (functionCall) add('tool', `${functionCall.name}(${JSON.stringify(functionCall.args)})`, seq);
    if (functionResponse)
      add('tool', `${functionResponse.name} → ${JSON.stringify(functionResponse.response)}`, seq);
  }
}

/** Shows a question with the means to answer it. The answer starts a run. */
function ask(question, seq) {
  const { kind, args } = question;
  const call = args.originalFunctionCall;
  const hint = args.toolConfirmation?.hint || args.message || `The agent asks for a ${kind}.`;
  const box = add(
    'question',
    call ? `${hint}\n${call.name}(${JSON.stringify(call.args)})\n` : `${hint}\n`,
    seq,
  );
  const reply = (label, start) => {
    const button = document.createElement('button');
    button.textContent = label;
    button.addEventListener('click', () => {
      for (const each of box.querySelectorAll('button, input')) each.disabled = true;
      void follow(start());
    });
    box.append(button);
  };
  if (kind === 'confirmation') {
    reply('Yes', () => client.confirm(session, question, true, { onConnection }));
    reply('No', () => client.confirm(session, question, false, { onConnection }));
  } else if (kind === 'input') {
    const field = document.createElement('input');
    box.append(field);
    reply('Answer', () => client.giveInput(session, question, field.value, { onConnection }));
  } else {
    box.append('This page has no sign-in; the page about credentials says how to add one.');
  }
}

/** The client comes back by itself; a person may want to know why nothing happens. */
function onConnection(state) {
  status.textContent = state === 'lost' ? 'reconnecting …' : 'connected again';
}

function add(kind, text, seq) {
  const box = document.createElement('div');
  box.className = kind;
  box.textContent = text;
  if (seq !== undefined) box.dataset.seq = seq;
  log.append(box);
  box.scrollIntoView({ block: 'end' });
  return box;
}
