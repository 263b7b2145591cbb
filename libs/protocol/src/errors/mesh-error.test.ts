import { expect, it } from 'vitest';
import { MeshError } from './mesh-error.ts';

it.each(['constructor', 'toString', '__proto__', 'no_such_code', 7])(
  'reads an unknown code from the wire as internal: %s',
  (code) => {
    expect(MeshError.fromWire({ code, message: 'm' })).toMatchObject({ code: 'internal', httpStatus: 500 });
  },
);
