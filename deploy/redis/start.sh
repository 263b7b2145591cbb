#!/bin/sh
# Starts Redis with the user `agentmesh` and its rights alone. The password comes from REDIS_PASSWORD, and stands in no argument.
# Use: start.sh USERS_ACL FOLDER [argument of redis-server …]; the folder takes the users with the password's hash.
set -eu
: "${REDIS_PASSWORD:?set it to the password of the user agentmesh}"
users=$1
folder=$2
shift 2
umask 077
hash=$(printf %s "$REDIS_PASSWORD" | sha256sum | cut -d ' ' -f 1)
sed -e "s/#PASSWORD_OF_AGENTMESH/#$hash/" -e '/#PASSWORD_OF_/d' "$users" >"$folder/users.acl"
unset REDIS_PASSWORD
exec redis-server --aclfile "$folder/users.acl" "$@"
