#!/bin/sh
# Starts Redis with the users of the mesh and their rights alone. The password of user `gateway` comes from
# REDIS_PASSWORD_GATEWAY, and so on; no password stands in an argument. The users `replica` and `sentinel` may be left out.
# Use: start.sh USERS_ACL FOLDER [argument of redis-server …]; the folder takes the users with the passwords' hashes.
set -eu
users=$1
# redis-server changes its folder before it reads the users.
folder=$(cd "$2" && pwd)
shift 2
umask 077
missing=
edits=
for user in $(sed -n 's/.* #PASSWORD_OF_\([A-Z0-9_]*\) .*/\1/p' "$users"); do
  password=$(printenv "REDIS_PASSWORD_$user" || true)
  unset "REDIS_PASSWORD_$user"
  if [ -n "$password" ]; then
    hash=$(printf %s "$password" | sha256sum | cut -d ' ' -f 1)
    edits="$edits;s/#PASSWORD_OF_$user /#$hash /"
  elif [ "$user" != REPLICA ] && [ "$user" != SENTINEL ]; then
    missing="$missing REDIS_PASSWORD_$user"
  fi
done
if [ -n "$missing" ]; then
  echo "set the passwords of the users of Redis:$missing" >&2
  exit 1
fi
sed -e "${edits#;}" -e '/#PASSWORD_OF_/d' "$users" >"$folder/users.acl"
exec redis-server --aclfile "$folder/users.acl" "$@"
