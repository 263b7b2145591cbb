import { type Bytes, bytesOf, type Reply, ReplyError, Status, textOf } from '../reply.ts';

/** A value as its shape, and the texts in it, in their order. */
export interface Described {
  shape: string;
  texts: Bytes[];
}

/** Describes a reply for `build` of the prelude. */
export function describeReply(reply: Reply, into: Described = { shape: '', texts: [] }): Described {
  if (typeof reply === 'string') text('$', reply, into);
  else if (typeof reply === 'number') into.shape += `:${reply};`;
  else if (reply === null) into.shape += '_;';
  else if (reply instanceof Status) text('+', reply.text, into);
  else {
    into.shape += `*${reply.length};`;
    for (const item of reply) describeReply(item, into);
  }
  return into;
}

/** Describes the value of a JSON text for `build` of the prelude. @throws ReplyError */
export function describeJson(json: Bytes): Described {
  const into: Described = { shape: '', texts: [] };
  try {
    describeValue(JSON.parse(textOf(json)), into);
    return into;
  } catch {
    throw new ReplyError('ERR user_function: Expected value but found invalid token');
  }
}

function describeValue(value: unknown, into: Described): void {
  if (typeof value === 'string') text('$', bytesOf(value), into);
  else if (typeof value === 'number') into.shape += `:${value};`;
  else if (typeof value === 'boolean') into.shape += value ? 't;' : '_;';
  else if (Array.isArray(value)) {
    into.shape += `*${value.length};`;
    for (const item of value) describeValue(item, into);
  } else if (typeof value === 'object' && value !== null) {
    const fields = Object.entries(value);
    into.shape += `%${fields.length};`;
    for (const [name, item] of fields) {
      text('$', bytesOf(name), into);
      describeValue(item, into);
    }
  } else into.shape += 'z;';
}

function text(kind: string, bytes: Bytes, into: Described): void {
  into.shape += `${kind};`;
  into.texts.push(bytes);
}

/** Returns the reply of a result that the prelude describes. An error is thrown. @throws ReplyError */
export function replyOf(shape: string, body: Bytes): Reply {
  const tokens = shape.split(';');
  let token = 0;
  let at = 0;
  const take = (length: number) => {
    at += length;
    return body.slice(at - length, at);
  };
  const next = (): Reply => {
    const word = tokens[token] ?? '_';
    token += 1;
    const number = Number(word.slice(1));
    switch (word[0]) {
      case '$':
        return take(number);
      case ':':
        return number;
      case '+':
        return new Status(take(number));
      case '!':
        throw new ReplyError(take(number));
      case '*':
        return Array.from({ length: number }, next);
      default:
        return null;
    }
  };
  return next();
}
