import { expect, test } from 'vitest';
import { type MessageFate, natsMessages, type PassingMessage } from './nats-messages.ts';

const wire = [
  'CONNECT {"verbose":false}\r\n',
  'SUB news 1\r\n',
  'PUB news 5\r\nhello\r\n',
  'PUB news reply.to 9\r\nPUB x 1\r\n\r\n',
  'HPUB news 18 20\r\nNATS/1.0\r\na: b\r\n\r\nhi\r\n',
  'PING\r\n',
].join('');

function run(text: string, pieceBytes: number, fate: (message: PassingMessage) => MessageFate) {
  const rewrite = natsMessages(fate)('up');
  const bytes = Buffer.from(text);
  const pieces = Array.from({ length: Math.ceil(bytes.length / pieceBytes) }, (_, at) =>
    rewrite(bytes.subarray(at * pieceBytes, (at + 1) * pieceBytes)),
  );
  return Buffer.concat(pieces).toString();
}

test.each([1, 3, 1_000])('passes the other bytes unchanged, in pieces of %i bytes', (size) => {
  const messages: string[] = [];
  const pass = ({ subject, body }: PassingMessage) => {
    messages.push(`${subject}: ${body.length}`);
    return 'pass' as const;
  };
  expect(run(wire, size, pass)).toBe(wire);
  expect(messages).toEqual(['news: 5', 'news: 9', 'news: 20']);
});

test('duplicates and drops whole messages', () => {
  const fate = ({ body }: PassingMessage) =>
    body === 'hello' ? 'duplicate' : body.startsWith('NATS') ? 'drop' : 'pass';
  const changed = run(wire, 7, fate);
  expect(changed.match(/PUB news 5\r\nhello\r\n/g)).toHaveLength(2);
  expect(changed).not.toContain('HPUB');
  expect(changed.endsWith('PUB x 1\r\n\r\nPING\r\n')).toBe(true);
});
