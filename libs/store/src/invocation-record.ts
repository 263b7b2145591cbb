import type { InvocationRecord } from '@agentmesh/agent';

/** The record from the flat list of its hash. */
export function recordOf(fields: string[]): InvocationRecord {
  const values = new Map<string, string>();
  for (let at = 0; at + 1 < fields.length; at += 2) values.set(fields[at] ?? '', fields[at + 1] ?? '');
  const temp = [...values].filter(([field]) => field.startsWith('temp:'));
  const end = JSON.parse(values.get('end') ?? '{"status":"running"}') as Pick<
    InvocationRecord,
    'status' | 'error'
  >;
  return {
    ...end,
    temp: Object.fromEntries(temp.map(([field, json]) => [field, JSON.parse(json)])),
    llmCalls: Number(values.get('calls') ?? 0),
    tokens: Number(values.get('tokens') ?? 0),
    ...(values.has('cancel') && { cancelled: values.get('cancel') ?? '' }),
  };
}
