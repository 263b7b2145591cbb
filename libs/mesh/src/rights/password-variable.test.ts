import { expect, it } from 'vitest';
import { passwordVariable } from './password-variable.ts';

it('names a variable that a shell can set, another one for each user', () => {
  const users = [
    'agent_pay_out',
    'agent_pay-out',
    'agent_Pay_Out',
    'agent_pay__out',
    'tool_shop.pay',
    'tool_shop:pay',
  ];
  const variables = users.map((user) => passwordVariable('NATS_PASSWORD', user));
  expect(variables[0]).toBe('NATS_PASSWORD_AGENT_PAY_OUT');
  expect(new Set(variables).size).toBe(users.length);
  for (const variable of variables) expect(variable).toMatch(/^[A-Z][A-Z0-9_]*$/);
});
