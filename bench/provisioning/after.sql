-- And after it: the groups that the answer shows.
SELECT gm.group_id, asked.id AS membership_id, g.display_name FROM unnest(ARRAY[md5(:n)::uuid]) asked (id)
  CROSS JOIN LATERAL (SELECT f.group_id FROM organization_group_member f
    WHERE f.organization_id = :organization::uuid AND f.membership_id = asked.id ORDER BY f.group_id LIMIT 100) gm
  JOIN organization_group g ON g.organization_id = :organization::uuid AND g.group_id = gm.group_id
  ORDER BY asked.id, gm.group_id;
